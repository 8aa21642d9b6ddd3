/// Ends the process with one sentence about a mistake in the calling program.
///
/// `fatalError` and not `preconditionFailure`, which prints nothing in release builds.
@usableFromInline
package func trap(
  _ sentence: String,
  file: StaticString = #fileID,
  line: UInt = #line
) -> Never {
  fatalError(sentence, file: file, line: line)
}

/// Returns a number of things for a text, in the singular for one.
package func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
