import HTTPTypes
import Hummingbird
import Logging

/// Has each error answered with JSON and a sentence, also those that the router throws.
struct ErrorAnswers<Context: RequestContext>: RouterMiddleware {
  let logger: Logger
  let methods: MethodTable

  func handle(
    _ request: Request,
    context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      // Thrown on, so that metrics and traces count it as an error.
      throw answer(to: error, request)
    }
  }

  private func answer(to error: any Error, _ request: Request) -> RequestError {
    switch error {
    case let error as RequestError: return error
    case is CancellationError: return .hungUp
    case let error as any HTTPResponseError:
      let allowed = error.status == .notFound ? methods.methods(of: request.uri.path) : []
      if !allowed.isEmpty { return .wrongMethod(request.method, allowed: allowed) }
      return RequestError(error.status, "http_\(error.status.code)", Self.sentence(error.status))
    default:
      logger.error(
        "a request has failed",
        metadata: ["path": "\(request.uri.path)", "error": "\(error)"]
      )
      return RequestError(
        .internalServerError,
        "failed",
        "The service could not do this; its log says why."
      )
    }
  }

  private static func sentence(_ status: HTTPResponse.Status) -> String {
    switch status {
    case .notFound: "There is nothing at this path."
    case .methodNotAllowed: "There is no such method at this path."
    case .contentTooLarge: "The body is too large."
    case .badRequest: "The request can't be understood."
    default: "The request can't be answered: \(status.reasonPhrase)."
    }
  }
}
