import Rankings

/// Pictures of the image hosts that belong to no work: portraits, and the placeholders for what is withheld.
enum HostFixtures {
    /// The picture at a path, if there is one.
    static func picture(_ path: String, _ universe: Universe) -> Picture? {
        let parts = path.split(separator: "/" as Character).map { String($0) }
        if parts.count == 3, parts[0] == "common", parts[1] == "images", let side = placeholders[parts[2]] {
            return picture(path, universe, side: side, format: .png)
        }
        guard parts.first == "user-profile", let name = parts.last,
            let number = Int64(name.prefix { $0.isNumber }), case let user = UserID(rawValue: number),
            universe.authors.slots(of: user) != nil, let time = universe.portraitTime(of: user),
            let side = Universe.portraitSides.first(where: {
                universe.portrait(of: user, side: $0) == "https://i.pximg.net" + path
            })
        else { return nil }
        return picture(path, universe, side: side, format: .jpg, modified: time)
    }

    private static let placeholders = [
        "limit_unviewable_s.png": 100, "limit_unviewable_360.png": 360, "limit_unknown_360.png": 360,
        "limit_unknown_s.png": 100, "limit_sanity_level_360.png": 360, "limit_mypixiv_360.png": 360,
        "limit_r18_360.png": 360, "no_profile.png": 170, "no_profile_s.png": 50,
    ]
    private static let bytes = 6_000...60_000

    private static func picture(
        _ path: String, _ universe: Universe, side: Int, format: ServedFormat,
        modified: JapanTime = JapanTime(Universe.firstDay, secondOfDay: 0)
    ) -> Picture {
        var chance = Chance(universe.seed, text: path)
        return Picture(
            path: path, pixels: PixelSize(width: side, height: side), format: format,
            bytes: format == .png ? bytes.upperBound : bytes.lowerBound + side * 20,
            modified: modified, subject: PictureSubject(scene: chance.next()))
    }
}
