import HTTP
import ObjectStore
import Synchronization
import Tier

/// Tries the object store that settings name, with an object of its own.
enum TierProbe {
    /// Clocks that differ by more than a store takes (Amazon S3: fifteen minutes), less what is left for drift, in seconds: from there
    /// on requests are signed with what the store says it is.
    private static let mostAhead: Int64 = 600

    /// Nil where no tier is set.
    static func finding(_ settings: Settings, home: Home) -> Finding? {
        guard settings.tier != nil else { return nil }
        let means: TierMeans
        do throws(ProgramError) {
            guard let found = try TierMeans(settings, home: home) else { return nil }
            means = found
        } catch { return .wrong(subject, error.message) }
        defer { means.transport.shutdown() }
        let result = Mutex<(ability: TierInspection.Ability, ahead: Int64?)?>(nil)
        let name = ChanceName.make()
        BlockingCall.wait { [store = means.store] in
            let found = await TierInspection(store).examine(name: name, now: WallClock.now())
            result.withLock { $0 = found }
        }
        guard let (ability, ahead) = result.withLock({ $0 }) else { return nil }
        return finding(ability, ahead: ahead, address: means.store.place.address)
    }

    private static let subject = "shared tier"

    static func finding(_ ability: TierInspection.Ability, ahead: Int64?, address: String) -> Finding {
        switch ability {
        case .all:
            if let ahead, abs(ahead) > mostAhead {
                return .note(
                    subject,
                    "\(address) works, though its clock and this machine's are \(abs(ahead)) s apart: set the clock.")
            }
            return .ok(subject, "\(address) is read and written, and says who does what.")
        case .withoutConditions:
            return .note(
                subject,
                "\(address) writes what is there already (it knows no If-None-Match): machines may download the same twice."
            )
        case .readOnly(let reason):
            return .note(
                subject,
                "\(address) is read, and nothing is brought there, for \(LogText.escaped(reason)): give the key the right to write."
            )
        case .none(let reason):
            return .wrong(
                subject,
                "\(address) cannot be used, for \(LogText.escaped(reason)): look after tier_url, the bucket and the key."
            )
        }
    }
}
