// A single import suffices, even for clients that build with member import visibility.
@_exported public import CoreOperations
