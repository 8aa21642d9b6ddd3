extension OrderDesk {
  /// What can be chosen about a desk.
  public struct Options: Sendable {
    /// How many orders may be open at once; see ``OrderRefusal/full(open:retryAfter:)``.
    public var maximumOpenOrders = 5_000

    /// How many requests the provider takes within ``providerPeriod``.
    public var providerRequests = 200

    /// The time in which the provider takes ``providerRequests``.
    public var providerPeriod = Duration.seconds(1)

    /// How long one request to the provider may take.
    public var requestTimeout = Duration.seconds(5)

    /// How long the provider is tried for one charge, and the carrier for one parcel.
    ///
    /// A wait for the provider's rate isn't counted, nor is one for its circuit: while the provider is
    /// down, no order fails. When the time is over, the request that is on its way is the last.
    public var stepTimeout = Duration.seconds(120)

    /// The first wait between two tries; each wait is twice as long as the one before.
    public var firstDelay = Duration.milliseconds(500)

    /// The longest wait between two tries.
    public var longestDelay = Duration.seconds(15)

    /// The longest delay that the provider may ask for, before any order sends another request.
    public var longestRetryAfter = Duration.seconds(300)

    /// The number of refusals of a refund in a row after which it is repeated slowly.
    ///
    /// A refund is never given up. A contradiction of the store is the last word after so many.
    public var refusals = 10

    /// The longest wait before a refund is repeated that was refused so often.
    public var refusedDelay = Duration.seconds(60)

    /// How many failures of the provider in a row open its circuit.
    ///
    /// Of a provider that fails with each fourth request, more than five in a row are common when
    /// many orders are open; ten mean that it is down.
    public var breakerFailures = 10

    /// How long the circuit stays open.
    public var breakerCooldown = Duration.seconds(5)

    /// How long a call of the store is repeated that fails; then its order is left for a while.
    public var storePatience = Duration.seconds(30)

    /// The first wait before the store is called again; each wait is twice as long as the one before.
    public var firstStoreDelay = Duration.milliseconds(50)

    /// The longest wait before the store is called again.
    public var longestStoreDelay = Duration.seconds(2)

    /// After how long an order that the store has kept from going on is taken up again.
    public var recoveryDelay = Duration.seconds(5)

    /// How many orders of other instances are taken over with one heartbeat, at most.
    public var takeOverLimit = 500

    /// How many orders that are over are kept in memory, with their events and timelines.
    public var rememberedOrders = 256

    /// Creates the options of a small shop.
    public init() {}
  }
}
