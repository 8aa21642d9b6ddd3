import Testing

/// What needs a real Slurm: that of `slurm-servers`, which SLURM_CONF names.
///
/// One test at a time, since some of them end nodes and the controller.
@Suite(
  .serialized,
  .timeLimit(.minutes(2)),
  .enabled(if: SlurmServers.isThere, "SKIPPED: SLURM_CONF names no Slurm")
)
struct SlurmTests {}
