import Foundation
import Testing

/// Returns when something is so that other processes bring about.
///
/// A test whose time is over can't be stopped while it waits in a call; so this gives up by itself,
/// long after it has become pointless to wait.
func wait(
  until what: Comment,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ isSo: () throws -> Bool
) throws {
  for _ in 0..<120_000 {
    if try isSo() { return }
    usleep(1_000)
  }
  try #require(try isSo(), "waited in vain: \(what)", sourceLocation: sourceLocation)
}
