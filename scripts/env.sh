# shellcheck shell=sh
# Settings for running MPI programs here. Read it into your shell once, before typing mpirun:
#
#   . scripts/env.sh
#
# The tests and the demo read it themselves. Works in sh, bash and zsh; values already set are kept.
#
# Open MPI's mpirun refuses, by default,
# - to run as root. Only these two variables (or --allow-run-as-root on each command line) permit
#   it; no configuration file can. They are set only when you are root, as is usual in a container.
# - to start more ranks than there are cores. `rmaps_base_oversubscribe = 1` in the file
#   ~/.openmpi/mca-params.conf would do as well, but we do not write into anyone's home.
# So an ordinary user with at least as many cores as ranks needs none of this. Open MPI 5 reads the
# PRTE_ names; MPICH has no such limits and ignores them all.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT:-1}"
  export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
  export PRTE_ALLOW_RUN_AS_ROOT="${PRTE_ALLOW_RUN_AS_ROOT:-1}"
  export PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="${PRTE_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
fi
export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe:-1}"
export PRTE_MCA_rmaps_default_mapping_policy="${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}"

# Ranks on one host copy large messages straight from each other's memory (process_vm_readv), which
# the system call filters of some containers forbid: messages then fail with "Read -1, expected N".
# Copying through shared memory always works, at half the speed, so it is chosen under a filter only.
if ! grep -q '^Seccomp:[[:space:]]*0' /proc/self/status 2>/dev/null; then
  export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"
  export OMPI_MCA_smsc="${OMPI_MCA_smsc:-^cma}"
fi
