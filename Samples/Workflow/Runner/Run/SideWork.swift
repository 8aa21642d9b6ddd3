/// Where a run does what its steps don't wait for: events, and the disk of the journal.
enum SideWork: Sendable {
  /// On threads of its own.
  case ownThreads
  /// On the thread that brings it, before that goes on: what a run in virtual time needs.
  case sender
}
