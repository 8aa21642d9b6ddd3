import HTTPTypes
package import Hummingbird
package import ServiceSupport

extension Problem {
  /// The problem as an answer.
  package func response(
    to request: Request,
    in context: some RequestContext,
    headers: HTTPFields = [:]
  ) throws -> Response {
    var response = try context.responseEncoder.encode(self, from: request, context: context)
    response.status = HTTPResponse.Status(code: status, reasonPhrase: title)
    response.headers[.contentType] = ProblemType.mediaType
    response.headers.append(contentsOf: headers)
    return response
  }
}
