/// The layer above is content with an operation, and releases its hold of it.
package struct LayerAnswer {
  /// Whether it is to be started ahead of others and without a slot.
  let leavesAhead: Bool
  /// Whether some of what the layer knows may have changed while it found out the rest.
  let hasWaited: Bool
  /// The ``SchedulerState/answerStamp`` from before the layer was asked; nil when that isn't known,
  /// or makes no difference.
  var since: UInt64?

  package init(leavesAhead: Bool, hasWaited: Bool, since: UInt64? = nil) {
    self.leavesAhead = leavesAhead
    self.hasWaited = hasWaited
    self.since = since
  }
}
