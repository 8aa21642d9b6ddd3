import AdvancedOperations

/// What the operations of all orders share.
struct OrderTools: Sendable {
  let store: PatientStore
  let trouble: StoreTrouble
  let payments: any PaymentProvider
  let shipping: any Shipping
  let breaker: CircuitBreaker
  /// The rate that instances share; nil for a program that is alone.
  let sharedRate: SharedRate?
  let options: OrderDesk.Options
  let reports: DeskReports
}
