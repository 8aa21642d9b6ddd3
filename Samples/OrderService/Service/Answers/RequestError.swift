import HTTPRules
import HTTPTypes
import Hummingbird
import OrderWorkflow
import ServiceSupport

/// An answer that says what is wrong: see ``/ServiceSupport/Problem``.
struct RequestError: Error, HTTPResponseError {
  let status: HTTPResponse.Status
  private let problem: Problem<Mistake>

  /// One word for programs.
  var code: String { problem.code }

  private var retryAfter: Duration?
  private var allowed: [HTTPRequest.Method] = []

  init(
    _ status: HTTPResponse.Status,
    _ code: String,
    _ message: String,
    mistakes: [Mistake]? = nil,
    retryAfter: Duration? = nil
  ) {
    self.status = status
    problem = Problem(
      status: status.code,
      title: status.reasonPhrase,
      code: code,
      detail: message,
      mistakes: mistakes
    )
    self.retryAfter = retryAfter
  }

  /// Says all that is wrong with a request.
  init(_ mistakes: [Mistake]) {
    let count = mistakes.count == 1 ? "a mistake" : "\(mistakes.count) mistakes"
    self.init(.badRequest, "invalid", "The order has \(count).", mistakes: mistakes)
  }

  /// Says why the desk doesn't take an order.
  init(_ refusal: OrderRefusal) {
    switch refusal {
    case .invalid(let problems):
      var fields: Set<String> = []
      self.init(problems.map(Mistake.init).filter { fields.insert($0.field).inserted })
    case .keyReused:
      self.init(.unprocessableContent, "key_reused", refusal.description)
    case .full(_, let time):
      self.init(.tooManyRequests, "full", refusal.description, retryAfter: time)
    case .draining(let time):
      self.init(.serviceUnavailable, "draining", refusal.description, retryAfter: time)
    }
  }

  /// Says what can't be kept at the moment.
  static func storeFails(_ message: String) -> RequestError {
    RequestError(.serviceUnavailable, "store_fails", message, retryAfter: .seconds(5))
  }

  /// Says that an order is left alone: nothing changes that by itself.
  init(_ error: OrderUnreadable) {
    self.init(
      .internalServerError,
      "left_alone",
      "\(error) It is left alone until a version of the service that can read it has started, or a "
        + "person has mended it."
    )
  }

  /// Says which methods there are at a path.
  static func wrongMethod(
    _ method: HTTPRequest.Method,
    allowed: [HTTPRequest.Method]
  ) -> RequestError {
    let names = allowed.map(\.rawValue).joined(separator: ", ")
    var error = RequestError(
      .methodNotAllowed,
      "http_405",
      "There is no \(method.rawValue) at this path, only \(names)."
    )
    error.allowed = allowed
    return error
  }

  /// Says to a client that has closed its side of the connection what that means.
  static var hungUp: RequestError {
    RequestError(
      HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request"),
      "hung_up",
      "The client closed its side of the connection before it had its answer."
    )
  }

  /// Says what can't be read of a body.
  static func body(_ error: any Error, limit: Int) -> any Error {
    switch error {
    case is CancellationError, is RequestError: error
    case let error as any HTTPResponseError where error.status == .contentTooLarge:
      RequestError(.contentTooLarge, "too_large", "The body has more than \(limit) bytes.")
    default:
      RequestError(.badRequest, "body", "The body can't be read: its length or chunks are wrong.")
    }
  }

  /// Says that there is no such order.
  static func unknown(_ id: String) -> RequestError {
    RequestError(.notFound, "unknown", "There is no order “\(id)”.")
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var headers = HTTPFields()
    if !allowed.isEmpty { headers[.allow] = allowed.map(\.rawValue).joined(separator: ", ") }
    if let retryAfter {
      // Whole seconds, at least one: a client isn't to come back too early.
      let seconds = max((retryAfter / .seconds(1)).rounded(.up), 1)
      headers[.retryAfter] = "\(Int(seconds))"
    }
    return try problem.response(to: request, in: context, headers: headers)
  }
}
