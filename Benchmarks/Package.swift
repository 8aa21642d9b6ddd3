// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "operation-benchmarks", targets: ["OperationBenchmarks"])
  ],
  dependencies: [
    .package(name: "AdvancedOperations", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
  ],
  targets: [
    .target(name: "BenchmarkKit", path: "Kit", swiftSettings: settings),
    .executableTarget(
      name: "OperationBenchmarks",
      dependencies: [
        "BenchmarkKit",
        .product(name: "AdvancedOperations", package: "AdvancedOperations"),
        .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations"),
        .product(name: "CoreOperations", package: "AdvancedOperations"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Program",
      swiftSettings: settings
    ),
    .testTarget(
      name: "BenchmarkKitTests",
      dependencies: ["BenchmarkKit"],
      path: "Tests",
      swiftSettings: settings
    ),
  ]
)
