/// Ends the process with one sentence about a mistake in the calling program.
///
/// The function uses `fatalError` instead of `preconditionFailure`, which prints no message in release
/// builds.
@usableFromInline
package func trap(
  _ sentence: String,
  file: StaticString = #fileID,
  line: UInt = #line
) -> Never {
  fatalError(sentence, file: file, line: line)
}

/// Ends the process, because the package is in a state that should be impossible.
///
/// - Parameters:
///   - state: A clause that describes the state.
///   - file: The file of the call.
///   - line: The line of the call.
@usableFromInline
package func internalError(
  _ state: String,
  file: StaticString = #fileID,
  line: UInt = #line
) -> Never {
  trap(
    "Internal error in AdvancedOperations: \(state), please report it.",
    file: file,
    line: line
  )
}

/// Returns a count with its noun, in the singular for 1.
package func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
