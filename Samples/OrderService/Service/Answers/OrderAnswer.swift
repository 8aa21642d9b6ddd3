import Hummingbird
import OrderWorkflow

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An order as the service shows it: without what stands for the customer's card.
struct OrderAnswer: ResponseEncodable {
  /// Where more is said about the order.
  struct Links: Encodable {
    var order: String
    var explain: String
    var events: String
    var timeline: String
  }

  var id: String
  var state: String
  var customer: String
  var lines: [OrderLine]
  var acceptedAt: Date
  var steps: [StepRecord]
  var failure: OrderFailure?
  /// What could not be undone.
  var problems: [String]?
  /// The instance that works on it, where there are several.
  var holder: String?
  var links: Links

  init(_ order: Order) {
    id = order.id.rawValue
    state = order.state.name
    customer = order.draft.customer
    lines = order.draft.lines
    acceptedAt = order.acceptedAt
    steps = order.steps
    failure = order.state.failure
    if case .stuck(_, let problems) = order.state { self.problems = problems }
    holder = order.holder
    let path = "/orders/\(id)"
    links = Links(
      order: path,
      explain: "\(path)/explain",
      events: "\(path)/events",
      timeline: "\(path)/timeline.svg"
    )
  }
}
