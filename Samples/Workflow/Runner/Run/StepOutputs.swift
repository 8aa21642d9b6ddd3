#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What is wrong with the file into which a step writes its outputs.
public enum OutputProblem: Error, Equatable, CustomStringConvertible {
  /// A line has no `=`.
  case noName(line: Int)
  /// A name isn't among the outputs that the step declares.
  case undeclared(name: String, line: Int)
  /// A value has a character U+0000.
  case zeroCharacter(name: String, line: Int)
  /// A declared output was not written.
  case missing(name: String)
  /// The file is no text in UTF-8.
  case noText
  /// The file is too large.
  case tooLarge(bytes: Int)
  /// The file can't be read.
  case unreadable(String)

  /// A part of a sentence, without a full stop.
  public var description: String {
    switch self {
    case .noName(let line):
      "line \(line) of its outputs ($WORKFLOW_OUTPUT) is not ‘name=value’"
    case .undeclared(let name, let line):
      "line \(line) of its outputs ($WORKFLOW_OUTPUT) gives ‘\(name)’, which is not among "
        + "its ‘outputs’"
    case .zeroCharacter(let name, let line):
      "line \(line) of its outputs ($WORKFLOW_OUTPUT) gives ‘\(name)’ a value with a character "
        + "U+0000, which no command can be given"
    case .missing(let name):
      "it did not write ‘\(name)=…’ to $WORKFLOW_OUTPUT, although that is among its ‘outputs’"
    case .noText: "its outputs ($WORKFLOW_OUTPUT) aren't text in UTF-8"
    case .tooLarge(let bytes):
      "its outputs ($WORKFLOW_OUTPUT) have \(bytes) bytes, more than \(StepOutputs.limit)"
    case .unreadable(let reason): "its outputs ($WORKFLOW_OUTPUT) can't be read: \(reason)"
    }
  }
}

/// The file into which a step writes what it gives to later ones: lines `name=value`.
enum StepOutputs {
  /// Values are written to the journal and passed to commands: they are small.
  static let limit = 1 << 20

  /// Reads the file of an attempt that succeeded, and removes it.
  ///
  /// - Parameters:
  ///   - path: Its place; a file that isn't there has nothing in it.
  ///   - names: The outputs that the step declares, all of which have to be there.
  /// - Returns: The values; of a name that was written twice, the last one.
  /// - Throws: What is wrong with the file, which is removed nonetheless.
  static func take(
    _ path: String,
    declared names: [String]
  ) throws(OutputProblem)
    -> [String: String]
  {
    var isThere = true
    defer { if isThere { unlink(path) } }
    let bytes = try bytes(of: path)
    isThere = bytes != nil
    return try values(of: bytes, declared: names)
  }

  private static func values(
    of bytes: [UInt8]?,
    declared names: [String]
  ) throws(OutputProblem)
    -> [String: String]
  {
    guard let bytes else {
      if let name = names.first { throw .missing(name: name) }
      return [:]
    }
    var values: [String: String] = [:]
    // Bytes, because a carriage return and a line feed are one character.
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      // Written by tools of other systems.
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      guard let text = String(validating: line, as: UTF8.self) else { throw .noText }
      if text.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw .noName(line: index + 1)
      }
      let name = String(text[..<equals])
      guard names.contains(name) else { throw .undeclared(name: name, line: index + 1) }
      guard !line.contains(0) else { throw .zeroCharacter(name: name, line: index + 1) }
      values[name] = String(text[text.index(after: equals)...])
    }
    if let name = names.first(where: { values[$0] == nil }) { throw .missing(name: name) }
    return values
  }

  private static func bytes(of path: String) throws(OutputProblem) -> [UInt8]? {
    do throws(SystemCallError) {
      let file = try OpenFile(reading: path)
      let size = try file.size()
      if size <= limit { return try file.read(atMost: limit, at: 0) }
      throw SystemCallError(code: EFBIG)
    } catch {
      if error.isMissing { return nil }
      if error.code == EFBIG { throw .tooLarge(bytes: (try? OpenFile(reading: path).size()) ?? 0) }
      throw .unreadable("\(error)")
    }
  }
}
