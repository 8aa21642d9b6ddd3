import AdvancedOperations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The steps of one order as its operations see them: a journal in the store.
struct OrderJournal: OperationJournal {
  /// The key of an operation is no step's.
  struct UnknownKey: Error, Hashable {
    let key: String
  }

  let store: any OrderStore
  let order: OrderID
  /// The steps that were done when the order was taken up: the store isn't asked for others.
  let done: Set<String>

  init(_ store: any OrderStore, _ order: Order) {
    self.store = store
    self.order = order.id
    let done = Set(order.steps.filter { $0.state == .done }.map(\.key))
    // What confirms an order ends it: one that is open all the same was opened by hand.
    self.done = order.state == .open ? done.subtracting([OrderStep.confirm.key]) : done
  }

  func value<Value: Codable & Sendable>(
    of type: Value.Type,
    for key: String
  ) async throws -> Value? {
    guard done.contains(key) else { return nil }
    guard let text = try await store.value(of: step(key), of: order) else { return nil }
    return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }

  /// The value of a step that is done now, whether it was when the order was taken up or not.
  ///
  /// - Returns: The value; nil if the step isn't done, or somebody has edited the value.
  func recorded<Value: Decodable>(_ type: Value.Type, of step: OrderStep) async throws -> Value? {
    guard let text = try await store.value(of: step, of: order) else { return nil }
    return try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }

  func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    try await store.record(text, of: step(key), of: order)
  }

  private func step(_ key: String) throws -> OrderStep {
    guard let step = OrderStep(key: key) else { throw UnknownKey(key: key) }
    return step
  }
}
