import Hummingbird

/// An answer that says what is wrong: `{"error": {"code": …, "message": …, "mistakes": …}}`.
struct ProviderError: Error, HTTPResponseError, Encodable {
  private struct Content: Encodable {
    var code: String
    var message: String
    var mistakes: [String]?
  }

  private enum CodingKeys: CodingKey { case error }

  let status: HTTPResponse.Status
  private let error: Content
  private var headers: HTTPFields = [:]

  init(
    _ status: HTTPResponse.Status,
    _ code: String,
    _ message: String,
    mistakes: [String]? = nil,
    retryAfter seconds: Int? = nil
  ) {
    self.status = status
    error = Content(code: code, message: message, mistakes: mistakes)
    if let seconds { headers[.retryAfter] = "\(seconds)" }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var response = try context.responseEncoder.encode(self, from: request, context: context)
    response.status = status
    response.headers.append(contentsOf: headers)
    return response
  }
}
