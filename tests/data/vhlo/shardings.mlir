module @shardings attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>} loc("weights"), %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model":(1)2, ?}, {?}p1], replicated={"data"}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, tensor<8x8xf32>) {
    %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", "model"}, {}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"model"}, {?}]> : tensor<8x8xf32>
    %2 = sdy.manual_computation(%1, %b) in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data"} (%c: tensor<4x8xf32>, %d: tensor<4x8xf32>) {
      %10 = stablehlo.multiply %c, %d : tensor<4x8xf32>
      %11 = "stablehlo.all_reduce"(%10) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %20 = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %20 : tensor<f32>
      }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %11 : tensor<4x8xf32>
    } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = sdy.reshard %2 <@mesh, [{}, {"data"}]> : tensor<8x8xf32>
    return %3, %1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
