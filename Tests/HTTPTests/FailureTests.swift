import Rankings
import CCurl
import Testing

@testable import HTTP

@Suite("Sentences on failures")
struct FailureSentenceTests {
    private func text(_ error: Failure) -> String? {
        switch error {
        case .unreachable(let text), .untrusted(let text), .broken(let text), .invalidAnswer(let text),
            .unsendable(let text):
            text
        default: nil
        }
    }

    /// Whatever libcurl and OpenSSL say, there is a sentence, and it names who is meant.
    @Test func everyCodeHasASentence() {
        for number in 0...200 {
            let error = CurlFailure(code: CURLcode(UInt32(number)), host: "a.example").failure
            if error == .timedOut { continue }
            let sentence = text(error) ?? ""
            #expect(sentence.contains("a.example: ") || sentence.contains("roxy"), "\(number)")
            #expect(sentence.hasSuffix(".") || sentence.hasSuffix("?"), "\(number)")
        }
    }

    @Test(arguments: [
        (9, "clock"), (10, "expired"), (18, "authority"), (19, "authority"), (20, "authority"), (21, "authority"),
        (0, "another host"), (1, "another host"), (62, "another host"), (23, "revoked"), (4711, "4711"),
    ])
    func certificatesAreToldApart(_ verification: Int, _ words: String) {
        var evidence = CurlFailure(code: CURLE_PEER_FAILED_VERIFICATION, host: "a.example")
        evidence.verification = verification
        #expect(text(evidence.failure)?.contains(words) == true)
        evidence.proxyVerification = verification == 0 ? 62 : verification
        #expect(text(evidence.failure)?.hasPrefix("The proxy's own certificate: ") == true)
    }

    @Test func aSecondTryHasTwiceTheTimeOfTheFirst() {
        #expect(CurlExchange.patience(within: .seconds(15)) == .seconds(4))
        #expect(CurlExchange.patience(within: .seconds(6)) == .seconds(2))
        #expect(CurlExchange.patience(within: .seconds(-6)) <= .zero)
    }

    @Test func anOldPoolIsNotUsedEvenIfTheMachineSlept() throws {
        let pool = try #require(CurlPool(.bulk, idle: 1, loopGuard: LoopGuard()))
        #expect(!pool.isStale(.now))
        #expect(pool.isStale(.now + CurlPool.longestIdle + .seconds(1)))
        let configuration = CurlConfiguration(
            limits: HostLimits(connections: 1), userAgent: "", proxy: nil, hosts: [], trustedOrigins: [],
            connectTimeout: .seconds(1), stallTimeout: .seconds(1))
        let means = try CurlMeans(configuration, NameResolver(), nil)
        #expect(!means.isDoubted(pool.made))
        means.doubt(pool.made)
        #expect(!means.isDoubted(pool.made), "what was made then is new")
        means.doubt(pool.made + .seconds(1))
        means.doubt(pool.made - .seconds(1))
        #expect(means.isDoubted(pool.made))
    }
}
