import Pixiv
package import Rankings

/// What tests of everything but sources take for their service: a source like pixiv in all that its description says.
extension SourceDescription {
    package static var likePixiv: SourceDescription { PixivPlugIn().description }
}

extension RankingMode {
    package static let daily = SourceDescription.likePixiv.rankings[0].mode

    /// The modes that everybody sees, in the order of the service.
    package static let everyone = SourceDescription.likePixiv.modes(isSignedIn: false)

    /// The modes that only signed-in users see.
    package static let signedIn = SourceDescription.likePixiv.modes(isSignedIn: true).filter { !everyone.contains($0) }
}

extension Day {
    /// The first day of a ranking.
    package static func first(of mode: RankingMode) -> Day { SourceDescription.likePixiv.days(of: mode).first }

    /// The newest day of all rankings at a moment.
    package static func newestPublished(atUnixSeconds seconds: Int64) -> Day {
        SourceDescription.likePixiv.days.newest(at: seconds)
    }
}
