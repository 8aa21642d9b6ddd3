import TerminalSupport

/// Hosts with their ports as a file has them: `example.org:443`, `[::1]:8080`.
enum HostText {
  /// Reads one.
  static func hostAndPort(_ text: String) throws(ValueProblem) -> (host: String, port: Int) {
    let quoted = "‘\(text.excerpt())’"
    if let scheme = text.firstRange(of: "://") {
      let rest = text[scheme.upperBound...].prefix { $0 != "/" }
      let port = text.hasPrefix("https") ? ":443" : text.hasPrefix("http") ? ":80" : ":PORT"
      let host = rest.contains(":") ? String(rest) : rest + port
      throw ValueProblem("\(quoted) is an address, not a host", help: "write ‘\(host.excerpt())’")
    }
    guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]"), !text.hasSuffix("}}") else {
      throw ValueProblem(
        "the host \(quoted) has no port",
        help: "like ‘\(text.excerpt(30)):443’"
      )
    }
    var host = String(text[..<colon])
    let number = String(text[text.index(after: colon)...])
    guard let port = Int(number) else {
      throw ValueProblem("a port is a number, not ‘\(number.excerpt())’")
    }
    guard 1...65_535 ~= port else {
      throw ValueProblem("a port is from 1 to 65535, not ‘\(port)’")
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if !host.contains("${{"), host.contains(":") {
      throw ValueProblem("an address with colons is in brackets", help: "write ‘[\(host)]:\(port)’")
    }
    guard !host.isEmpty else { throw ValueProblem("\(quoted) has no host before its port") }
    if host.utf8.contains(where: { $0 <= 0x20 }), !host.contains("${{") {
      throw ValueProblem("a host has no spaces")
    }
    return (host, port)
  }

  /// The text of a host with its port.
  static func text(host: String, port: Int) -> String {
    host.contains(":") && !host.contains("${{") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
