// Ops without a rule: those with regions, and those that only say where a value lies.
#include <algorithm>

#include "passes/partition/reshard_inserter.h"

namespace spmd {

void ReshardInserter::visit_while(OpId id) {
  const std::vector<BlockId> regions = fn_.op(id).regions;
  const BlockId condition = regions[0], body = regions[1];
  const std::vector<ValueId> args = fn_.block(body).args;
  for (size_t i = 0; i < args.size(); ++i) {
    const Placement carried = placement(args[i]);
    require(id, i, carried);
    set_placement(args[i], carried);
    set_placement(fn_.block(condition).args[i], carried);
    deliver(id, i, carried);
  }
  visit_block(condition);
  require(fn_.terminator(condition), 0, Placement::replicated(0));
  visit_block(body);
  for (size_t i = 0; i < args.size(); ++i) {
    require(fn_.terminator(body), i, placement(args[i]));
  }
}

void ReshardInserter::visit_branches(OpId id) {
  require(id, 0, Placement::replicated(fn_.type(fn_.op(id).operands[0]).rank()));
  const std::vector<BlockId> regions = fn_.op(id).regions;
  const std::vector<ValueId> results = fn_.op(id).results;
  for (BlockId region : regions) {
    visit_block(region);
    for (size_t i = 0; i < results.size(); ++i) {
      require(fn_.terminator(region), i, placement(results[i]));
    }
  }
  for (ValueId result : results) set_placement(result, Placement(placement(result)));
}

void ReshardInserter::visit_barrier(OpId id) {
  for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
    const Placement target = placement(fn_.op(id).results[i]);
    require(id, i, target);
    set_placement(fn_.op(id).results[i], target);
  }
}

void ReshardInserter::visit_constraint(OpId id) {
  const Placement target = placement(fn_.op(id).results[0]);
  require(id, 0, target);
  fn_.replace_all_uses(fn_.op(id).results[0], fn_.op(id).operands[0]);
  fn_.erase_op(id);
  changed_ = true;
}

// A manual computation has the sizes that the program says. Axes that are not its own only place
// its operands and results, and do so where they divide.
void ReshardInserter::drop_uneven_axes(const TensorType& type, const AtomMask manual,
                                       Sharding& sharding) {
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    AtomList axes = atoms_.to_atoms(sharding.dims[d].axes);
    while (!axes.empty() && type.shape[d] % atoms_.extent(axes) != 0 &&
           (manual >> axes.back() & 1) == 0) {
      axes.pop_back();
    }
    sharding.dims[d].axes = atoms_.to_axes(axes);
  }
}

void ReshardInserter::visit_manual(OpId id) {
  {
    auto& shardings = fn_.op(id).as<ManualComputationAttrs>();
    const AtomMask manual = mask_of(atoms_.to_atoms(shardings.manual_axes));
    for (size_t i = 0; i < shardings.in_shardings.size(); ++i) {
      drop_uneven_axes(fn_.type(fn_.op(id).operands[i]), manual, shardings.in_shardings[i]);
    }
    for (size_t i = 0; i < shardings.out_shardings.size(); ++i) {
      drop_uneven_axes(fn_.type(fn_.op(id).results[i]), manual, shardings.out_shardings[i]);
    }
  }
  const ManualComputationAttrs attrs = fn_.op(id).as<ManualComputationAttrs>();
  for (size_t i = 0; i < attrs.in_shardings.size(); ++i) {
    require(id, i, to_placement(attrs.in_shardings[i], atoms_));
  }
  const BlockId region = fn_.op(id).regions[0];
  const AtomMask manual = mask_of(atoms_.to_atoms(attrs.manual_axes));
  const auto without_manual = [&](const Sharding& sharding) {
    Placement inside = to_placement(sharding, atoms_);
    const auto is_manual = [&](Atom atom) { return manual >> atom & 1; };
    for (AtomList& dim : inside.dims) {
      dim.erase(std::remove_if(dim.begin(), dim.end(), is_manual), dim.end());
    }
    return inside;
  };
  for (size_t i = 0; i < attrs.in_shardings.size(); ++i) {
    set_placement(fn_.block(region).args[i], without_manual(attrs.in_shardings[i]));
  }
  visit_block(region);
  for (size_t i = 0; i < attrs.out_shardings.size(); ++i) {
    require(fn_.terminator(region), i, without_manual(attrs.out_shardings[i]));
  }
  for (size_t i = 0; i < attrs.out_shardings.size(); ++i) {
    deliver(id, i, to_placement(attrs.out_shardings[i], atoms_));
  }
}

// Ops without a rule see whole values.
void ReshardInserter::visit_opaque(OpId id) {
  for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
    require(id, i, Placement::replicated(fn_.type(fn_.op(id).operands[i]).rank()));
  }
  for (size_t i = 0; i < fn_.op(id).results.size(); ++i) {
    deliver(id, i, Placement::replicated(fn_.type(fn_.op(id).results[i]).rank()));
  }
  const Op& op = fn_.op(id);
  if (family_of(op.code) != OpFamily::kCollective && module_.mesh.num_devices() > 1) {
    context_.remark(
        "insert_reshards", op,
        fmt::format("{} cannot be partitioned: every device runs all of it", name_of(op.code)));
  }
}

}  // namespace spmd
