public import AdvancedOperations

/// The error that an expectation of this module throws if it isn't met.
///
/// The expectations work in every test framework, because a test fails if it throws an error. The
/// error contains the file and the line of the call.
///
/// ```swift
/// do {
///   try expectOutcome(of: upload, is: .succeeded)
/// } catch let failure as ExpectationFailure {
///   print(failure.line, failure.message)
/// }
/// ```
public struct ExpectationFailure: Error, CustomStringConvertible {
  /// The expected and the actual result, in words.
  public let message: String
  /// The file in which the expectation was called.
  public let fileID: String
  /// The line in which the expectation was called.
  public let line: Int
  /// The seed of the simulation in which the operation ran; nil for an operation outside of
  /// simulations.
  public let seed: UInt64?
  /// The error that a closure of the test threw; nil if no closure threw an error.
  ///
  /// An example is the error of the closure of
  /// ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:of:)``.
  public let underlying: (any Error)?

  /// Creates an error for your own expectation.
  ///
  /// - Parameters:
  ///   - message: The expected and the actual result, in words.
  ///   - operation: The operation whose simulation has the seed.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  public init(
    _ message: String,
    about operation: AdvancedOperation? = nil,
    fileID: String = #fileID,
    line: Int = #line
  ) {
    let seed = operation.flatMap { Simulation.of($0)?.seed }
    self.init(message, seed: seed, fileID: fileID, line: line)
  }

  init(
    _ message: String,
    seed: UInt64?,
    underlying: (any Error)? = nil,
    fileID: String,
    line: Int
  ) {
    self.underlying = underlying
    self.message = message
    self.fileID = fileID
    self.line = line
    self.seed = seed
  }

  /// The file, the line, the message and the seed.
  public var description: String {
    "\(fileID):\(line): \(message)" + (seed.map { " (seed \($0))" } ?? "")
  }
}
