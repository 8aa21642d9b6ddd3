import AdvancedOperations

/// What the operations of all orders share.
struct OrderTools: Sendable {
  let store: PatientStore
  let trouble: StoreTrouble
  let payments: any PaymentProvider
  let shipping: any Shipping
  let breaker: CircuitBreaker
  let options: OrderDesk.Options
}
