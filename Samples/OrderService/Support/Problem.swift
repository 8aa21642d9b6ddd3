/// What is wrong with a request, as “Problem details” (RFC 9457): `application/problem+json`.
///
/// ```json
/// {"code": "full", "detail": "5000 orders are open; try again later.", "status": 429,
///  "title": "Too Many Requests", "type": "about:blank"}
/// ```
package struct Problem<Mistake: Encodable & Sendable>: Encodable, Sendable {
  /// The kind of the problem: the status says it, and ``code`` says more.
  package let type = "about:blank"
  /// The name of the status.
  package var title: String
  /// The status of the answer.
  package var status: Int
  /// One sentence for people.
  package var detail: String
  /// One word for programs.
  package var code: String
  /// All that is wrong with the request, if there is more to say than a sentence.
  package var mistakes: [Mistake]?

  /// Creates a problem.
  package init(
    status: Int,
    title: String,
    code: String,
    detail: String,
    mistakes: [Mistake]? = nil
  ) {
    self.title = title
    self.status = status
    self.detail = detail
    self.code = code
    self.mistakes = mistakes
  }
}

/// The names of problems that don't depend on what they are about.
package enum ProblemType {
  /// The media type of a problem.
  package static let mediaType = "application/problem+json"
}
