/// Where a feed comes from.
public enum FeedSource: Sendable, Hashable {
  /// The catalogue of notable earthquakes that comes with the program.
  case shipped

  /// A file that was downloaded before.
  case file(path: String)

  /// A feed of the U.S. Geological Survey, by its name, such as `4.5_week`.
  case published(name: String)
}
