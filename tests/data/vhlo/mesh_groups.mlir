#loc3 = loc("-":3:26)
#loc5 = loc("-":4:131)
#loc7 = loc("-":6:12)
#loc8 = loc("-":6:29)
#loc13 = loc("-":12:12)
#loc14 = loc("-":12:29)
module @mesh_groups attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> loc(#loc1)
  func.func public @main(%arg0: tensor<8x4xf32> loc("-":3:26)) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<8x4xf32> loc("-":4:131)) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>, #stablehlo.axis_ref<name = "x">]>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("-":6:12), %arg3: tensor<f32> loc("-":6:29)):
        %4 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc9)
        stablehlo.return %4 : tensor<f32> loc(#loc10)
      }) : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc6)
      %2 = stablehlo.exponential %1 {result_accuracy = #stablehlo.result_accuracy<atol = 5.000000e-01, rtol = 2.500000e-01, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<8x4xf32> loc(#loc11)
      %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "z", size = 2>, <name = "w", size = 4>]>, axes = [#stablehlo.axis_ref<name = "z">]>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("-":12:12), %arg3: tensor<f32> loc("-":12:29)):
        %4 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc15)
        stablehlo.return %4 : tensor<f32> loc(#loc16)
      }) : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc12)
      sdy.return %3 : tensor<8x4xf32> loc(#loc17)
    } : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc4)
    return %0 : tensor<8x4xf32> loc(#loc18)
  } loc(#loc2)
} loc(#loc)
#loc = loc("-":1:1)
#loc1 = loc("-":2:3)
#loc2 = loc("-":3:3)
#loc4 = loc("-":4:10)
#loc6 = loc("-":5:12)
#loc9 = loc("-":7:14)
#loc10 = loc("-":8:9)
#loc11 = loc("-":10:12)
#loc12 = loc("-":11:12)
#loc15 = loc("-":13:14)
#loc16 = loc("-":14:9)
#loc17 = loc("-":16:7)
#loc18 = loc("-":18:5)
