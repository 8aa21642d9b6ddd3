/// Text for a terminal, in which only the program itself moves the cursor and changes colours.
///
/// What stands between the quotation marks of the source goes through as it is. What is put into it
/// is data, of a feed, a server, a file system or the command line, and loses all that a terminal
/// would obey. Streams take nothing but this type, so this is the one place where that happens.
///
/// ```swift
/// let text: TerminalText = "\u{1B}[1m\(title)\u{1B}[0m"   // bold, whatever the title says
/// ```
package struct TerminalText: Hashable, Sendable {
  /// What is written.
  package private(set) var text: String

  /// Takes a text that has been filtered where it was made, with colours of the program in it.
  package init(filtered text: String) { self.text = text }

  package static func + (one: TerminalText, other: TerminalText) -> TerminalText {
    TerminalText(filtered: one.text + other.text)
  }
}

extension TerminalText: ExpressibleByStringInterpolation {
  package init(stringLiteral value: String) { text = value }

  package init(stringInterpolation: StringInterpolation) {
    text = stringInterpolation.text
  }

  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    package init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity)
    }

    package mutating func appendLiteral(_ literal: String) { text += literal }

    package mutating func appendInterpolation(_ text: TerminalText) { self.text += text.text }

    package mutating func appendInterpolation(_ data: some CustomStringConvertible) {
      text += data.description.printable(keepsLines: true)
    }

    package mutating func appendInterpolation(_ error: any Error) {
      text += "\(error)".printable(keepsLines: true)
    }
  }
}
