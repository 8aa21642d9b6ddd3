import HTTPTypes
import ServiceSupport
import Testing

@testable import HTTPRules

/// What a server asks of each request.
@Suite struct ServerRulesTests {
  private func status(
    _ method: HTTPRequest.Method = .get,
    host: String? = "localhost:8080",
    _ fields: HTTPFields = [:],
    rules: ServerRules = ServerRules(names: ["Shop.example"])
  ) -> Int? {
    let request = HTTPRequest(
      method: method,
      scheme: "http",
      authority: host,
      path: "/orders",
      headerFields: fields
    )
    return rules.refusal(of: request)?.status.code
  }

  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "127.0.0.1", "10.1.2.3:80", "[::1]", "[fe80::1]:8080",
    "shop.example",
    "Shop.Example:443",
  ])
  func `An address and a name of the server are its hosts`(host: String) {
    #expect(status(host: host) == nil)
  }

  @Test(arguments: [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "1.2.3", "1.2.3.256", "x",
  ])
  func `A name that isn't the server's may be another site's, which leads here`(host: String) {
    #expect(status(host: host) == 421)
  }

  @Test(arguments: [nil, "", "a b", "localhost:x", "user@localhost", "[::1", "[x]", "a,b"])
  func `A host that is none is a mistake`(host: String?) {
    #expect(status(host: host) == 400)
  }

  @Test func `Two hosts are a mistake`() throws {
    let name = try #require(HTTPField.Name("Host"))
    #expect(status(.get, [name: "b"]) == 400)
  }

  @Test(arguments: ["http://localhost:8080", "https://LOCALHOST:8080"])
  func `The server's own pages may send requests`(origin: String) {
    #expect(status(.post, [.origin: origin]) == nil)
  }

  @Test(arguments: [
    "http://evil.example", "http://localhost:8081", "http://localhost", "null", "",
    "localhost:8080",
  ])
  func `Pages of other sites may not`(origin: String) {
    for method in [.get, .post, .delete] as [HTTPRequest.Method] {
      #expect(status(method, [.origin: origin]) == 403, "\(method)")
    }
  }

  @Test func `Two origins are none`() {
    var fields: HTTPFields = [.origin: "http://localhost:8080"]
    fields.append(HTTPField(name: .origin, value: "http://localhost:8080"))
    #expect(status(.post, fields) == 403)
  }

  @Test(arguments: [
    ("application/json", nil), ("Application/JSON; charset=utf-8", nil), ("text/plain", 415),
    ("application/x-www-form-urlencoded", 415), ("application/jsonx", 415),
    ("application/json-patch+json", 415), ("", 415),
  ])
  func `A body is JSON`(type: String, expected: Int?) {
    for method in [.post, .put, .patch] as [HTTPRequest.Method] {
      #expect(status(method, [.contentType: type, .contentLength: "2"]) == expected)
      #expect(status(method, [.contentType: type, .transferEncoding: "chunked"]) == expected)
    }
    #expect(status(.post, [.contentType: type, .contentLength: "0"]) == nil)
  }

  @Test func `A body without a type isn't JSON, and one with two types isn't either`() {
    #expect(status(.post, [.contentLength: "2"]) == 415)
    var fields: HTTPFields = [.contentLength: "2", .contentType: "application/json"]
    fields.append(HTTPField(name: .contentType, value: "text/plain"))
    #expect(status(.post, fields) == 415)
  }

  @Test func `What changes something needs the token, if the server has one`() {
    let rules = ServerRules(token: "secret")
    for method in [.post, .put, .patch, .delete] as [HTTPRequest.Method] {
      #expect(status(method, rules: rules) == 401)
      for text in ["secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret"]
      {
        #expect(status(method, [.authorization: text], rules: rules) == 401, "\(text)")
      }
      for scheme in ["Bearer", "bearer", "BEARER"] {
        #expect(status(method, [.authorization: "\(scheme) secret"], rules: rules) == nil)
        #expect(status(method, [.authorization: "\(scheme) SECRET"], rules: rules) == 401)
      }
    }
    for method in [.get, .head, .options] as [HTTPRequest.Method] {
      #expect(status(method, rules: rules) == nil)
    }
  }

  @Test func `Only one expectation is known`() {
    #expect(status(.post, [.expect: "100-Continue"]) == nil)
    #expect(status(.post, [.expect: "200-ok"]) == 417)
  }

  @Test(arguments: [
    ("localhost", true), ("127.0.0.1", true), ("127.1.2.3", true), ("::1", true),
    ("0.0.0.0", false),
    ("::", false), ("10.0.0.1", false), ("127.evil.example", false), ("shop.example", false),
  ])
  func `Only the loopback is listened at without a token`(host: String, isLoopback: Bool) {
    #expect(AccessToken.isLoopback(host) == isLoopback)
  }
}
