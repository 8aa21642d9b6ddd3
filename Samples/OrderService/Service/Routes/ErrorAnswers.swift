import HTTPTypes
import Hummingbird
import Logging

/// Has each error answered with JSON and a sentence, also those that the router throws.
struct ErrorAnswers<Context: RequestContext>: RouterMiddleware {
  let logger: Logger

  func handle(
    _ request: Request,
    context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as RequestError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch let error as any HTTPResponseError {
      throw RequestError(error.status, "http_\(error.status.code)", Self.sentence(error.status))
    } catch {
      logger.error(
        "a request has failed",
        metadata: ["path": "\(request.uri.path)", "error": "\(error)"]
      )
      throw RequestError(
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
