import Foundation
import HTTPTypes
import Mustache
import OrderWorkflow

/// The operators' page: a template that shows the state of a moment, and a script that keeps it so.
///
/// What comes from outside is written as text in both: by the template's `{{…}}`, for which
/// ``MarkupText`` escapes it, and as `textContent`.
struct OperatorsPage: Sendable {
  /// The page's style sheet.
  let style: String
  /// The page's script.
  let script: String
  /// The description of the interface, by OpenAPI 3.1.
  let description: String
  private let template: MustacheTemplate

  init() throws {
    func file(_ name: String) throws -> String {
      let folder = Bundle.module.bundleURL.appending(path: "Page")
      return try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }
    style = try file("page.css")
    script = try file("page.js")
    description = try file("openapi.json")
    MustacheContentTypes.register(MarkupText(), named: MarkupText.name)
    template = try MustacheTemplate(string: try file("page.mustache"))
  }

  /// Nothing comes from elsewhere, and nothing in the page's text is run.
  static let headers: HTTPFields = {
    var headers: HTTPFields = [.cacheControl: "no-store"]
    headers[.contentSecurityPolicy] =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
      + "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    return headers
  }()

  /// The page as it is at a moment.
  func html(_ state: PageState, items: [Item], hasProvider: Bool) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    let values: [String: Any] = [
      "state": try encoder.text(state),
      "items": items.map { item in
        ["sku": item.sku, "name": item.name, "price": item.price.description]
      },
      "hasProvider": hasProvider,
      "rows": state.rows.map { row in
        [
          "id": row.id, "customer": row.customer, "items": row.items, "state": row.state,
          "why": row.why ?? "",
          "steps": row.steps.map { ["name": $0.name, "state": $0.state] },
        ] as [String: Any]
      },
    ]
    return template.render(values)
  }
}
