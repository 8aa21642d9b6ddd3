package import Testing

/// Expects a sentence on the standard error of a process that trapped.
package func expectMessage(
  _ sentence: String,
  in result: ExitTest.Result?,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let bytes = try #require(result, sourceLocation: sourceLocation).standardErrorContent
  let text = String(decoding: bytes, as: UTF8.self)
  #expect(text.contains("Fatal error: \(sentence)"), "\(text)", sourceLocation: sourceLocation)
}

/// Expects that a process ended with a message about an impossible state of the package.
package func expectInternalError(
  _ state: String,
  in result: ExitTest.Result?,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  try expectMessage(
    "Internal error in AdvancedOperations: \(state), please report it.",
    in: result,
    sourceLocation: sourceLocation
  )
}
