package import HTTPTypes

/// What a server asks of every request, whatever its path.
///
/// A browser sends requests for other sites, too. Three rules keep these from changing anything: the host
/// is an address or a name of this server, so that no other site's name leads here; the origin is this
/// server; and a body is JSON, which a form can't send. Beyond the loopback, a token is needed as well.
package struct ServerRules: Sendable {
  /// The names of this server, in small letters; addresses and `localhost` are allowed as well.
  package var names: Set<String>

  /// The token that a request needs that may change something; nil if none is needed.
  package var token: String?

  /// Creates rules.
  package init(names: Set<String> = [], token: String? = nil) {
    self.names = Set(names.map { $0.lowercased() })
    self.token = token
  }

  /// Why a request isn't looked at.
  package struct Refusal: Equatable, Sendable {
    /// The status of the answer.
    package var status: HTTPResponse.Status
    /// One word for programs.
    package var code: String
    /// One sentence for people.
    package var sentence: String
  }

  /// Returns why a request is refused; nil if it isn't.
  package func refusal(of request: HTTPRequest) -> Refusal? {
    refusalOfHost(request) ?? refusalOfOrigin(request) ?? refusalOfExpectation(request)
      ?? refusalOfToken(request) ?? refusalOfBody(request)
  }

  private func refusalOfHost(_ request: HTTPRequest) -> Refusal? {
    // The library takes the first one out of the fields.
    let others = HTTPField.Name("Host").map { request.headerFields[values: $0] } ?? []
    guard let host = request.authority, others.isEmpty else {
      return Refusal(
        status: .badRequest,
        code: "host",
        sentence: "A request has one header “Host”."
      )
    }
    guard let name = HostName(host) else {
      return Refusal(
        status: .badRequest,
        code: "host",
        sentence: "The header “Host” has to be a name or an address, and a port if there is one."
      )
    }
    if name.isAddress || name.text == "localhost" || names.contains(name.text) { return nil }
    return Refusal(
      status: .misdirectedRequest,
      code: "other_host",
      sentence:
        "This server has another name. Start it with --name \(name.text) if that is its own."
    )
  }

  private func refusalOfOrigin(_ request: HTTPRequest) -> Refusal? {
    let origins = request.headerFields[values: .origin]
    guard let origin = origins.first else { return nil }
    let host = (request.authority ?? "").lowercased()
    let own = ["http://\(host)", "https://\(host)"]
    if origins.count == 1, own.contains(origin.lowercased()) { return nil }
    return Refusal(
      status: .forbidden,
      code: "other_origin",
      sentence: "The request comes from a page of another site."
    )
  }

  private func refusalOfExpectation(_ request: HTTPRequest) -> Refusal? {
    guard let expected = request.headerFields[.expect] else { return nil }
    if expected.lowercased() == "100-continue" { return nil }
    return Refusal(
      status: .expectationFailed,
      code: "expectation",
      sentence: "Of expectations, only 100-continue is known."
    )
  }

  private func refusalOfToken(_ request: HTTPRequest) -> Refusal? {
    guard let token, ![.get, .head, .options].contains(request.method) else { return nil }
    let text = request.headerFields[.authorization] ?? ""
    let wanted = Array("Bearer \(token)".utf8)
    // RFC 9110: the case of the scheme doesn't matter, that of the token does.
    let hasScheme = text.prefix(7).lowercased() == "bearer "
    let given = Array((hasScheme ? "Bearer \(text.dropFirst(7))" : text).utf8)
    // Takes as long for one that is almost right as for any other.
    var difference = given.count ^ wanted.count
    for index in given.indices { difference |= Int(given[index] ^ wanted[index % wanted.count]) }
    if difference == 0 { return nil }
    return Refusal(
      status: .unauthorized,
      code: "token",
      sentence: "The header “Authorization” has to be “Bearer” and the token of this server."
    )
  }

  private func refusalOfBody(_ request: HTTPRequest) -> Refusal? {
    guard request.hasBody, [.post, .put, .patch].contains(request.method) else { return nil }
    let types = request.headerFields[values: .contentType]
    let name = (types.first ?? "").prefix { $0 != ";" && !$0.isWhitespace }
    if types.count == 1, name.lowercased() == "application/json" { return nil }
    return Refusal(
      status: .unsupportedMediaType,
      code: "not_json",
      sentence: "The header “Content-Type” has to be application/json."
    )
  }
}

extension HTTPRequest {
  /// Whether a body follows the head.
  package var hasBody: Bool {
    if headerFields[.transferEncoding] != nil { return true }
    return headerFields[.contentLength].map { $0 != "0" } ?? false
  }
}

/// The host in a header, without its port.
struct HostName: Equatable {
  /// In small letters.
  var text: String
  /// Whether it is an address, which no other site's name stands for.
  var isAddress: Bool

  /// Reads a host, and a port behind it; nil if it is neither a name nor an address.
  init?(_ host: String) {
    let text: Substring
    let rest: Substring
    if host.hasPrefix("[") {
      guard let end = host.firstIndex(of: "]") else { return nil }
      text = host[host.index(after: host.startIndex)..<end]
      rest = host[host.index(after: end)...]
      guard !text.isEmpty, text.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
        return nil
      }
      isAddress = true
    } else {
      text = host.prefix { $0 != ":" }
      rest = host.dropFirst(text.count)
      let isName = text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        case UInt8(ascii: "_"): true
        default: false
        }
      }
      guard isName, !text.isEmpty else { return nil }
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      isAddress = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
    if !rest.isEmpty {
      guard rest.first == ":", rest.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }) else {
        return nil
      }
    }
    self.text = text.lowercased()
  }
}
