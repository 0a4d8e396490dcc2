import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Polite".
    @Suite struct PoliteTests {
        @Test(arguments: Service.allCases) func aCoolDownIsObeyedAfterARestartToo(service: Service) async throws {
            try await withWorkplace { workplace in
                let pause = FaultKind.status(429, retryAfter: "4").rule(service.lists, count: 1)
                let origin = try OriginProcess(workplace, faults: [pause], service: service)
                var mount = try Mount(workplace, of: origin)
                let refused = try workplace.run("ls", mount.day())
                #expect(refused.status != 0 && !refused.errors.contains("No such file"), "\(refused.errors)")
                #expect(origin.apiRequests.map(\.status) == [429], "nothing is asked again meanwhile")
                #expect(mount.unmount())

                mount = try Mount(workplace, of: origin)
                let count = try mount.names(mount.day()).count
                let asked = origin.apiRequests
                #expect(try count > 40 && count == origin.ranking().count)
                let next = try #require(asked.dropFirst().first)
                // Four seconds, less the one that whole seconds may hide.
                #expect(
                    next.t - asked[0].end >= 3000, "the next request came \(next.t - asked[0].end) ms after the refusal"
                )
            }
        }
    }
}
