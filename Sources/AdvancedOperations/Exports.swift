// One import suffices, also for clients that build with member import visibility.
@_exported public import CoreOperations
