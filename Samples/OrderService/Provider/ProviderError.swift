import HTTPRules
import Hummingbird
import ServiceSupport

/// An answer that says what is wrong: see ``/ServiceSupport/Problem``.
struct ProviderError: Error, HTTPResponseError {
  let status: HTTPResponse.Status
  private let problem: Problem<String>
  private var headers: HTTPFields = [:]

  init(
    _ status: HTTPResponse.Status,
    _ code: String,
    _ message: String,
    mistakes: [String]? = nil,
    retryAfter seconds: Int? = nil
  ) {
    self.status = status
    problem = Problem(
      status: status.code,
      title: status.reasonPhrase,
      code: code,
      detail: message,
      mistakes: mistakes
    )
    if let seconds { headers[.retryAfter] = "\(seconds)" }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    try problem.response(to: request, in: context, headers: headers)
  }
}
