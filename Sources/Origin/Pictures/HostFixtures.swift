import Rankings

/// Pictures of the image hosts that belong to no work: portraits, and the placeholders for what is withheld.
enum HostFixtures {
    /// The picture at a path, if there is one.
    static func picture(_ path: String, _ universe: Universe) -> Picture? {
        let parts = path.split(separator: "/" as Character).map { String($0) }
        if parts.count == 3, parts[0] == "common", parts[1] == "images", let side = placeholders[parts[2]] {
            return picture(path, universe, side: side, format: .png, title: "limited", number: 0)
        }
        guard parts.first == "user-profile", let name = parts.last, name.hasSuffix(".jpg"),
            let mark = name.lastIndex(of: "_"), let number = Int64(name[..<mark]),
            let side = Int(name[name.index(after: mark)...].dropLast(4)), [50, 170].contains(side),
            UserAnswers.portrait(of: UserID(rawValue: number), size: side).hasSuffix(path)
        else { return nil }
        let title = universe.name(of: UserID(rawValue: number))
        return picture(path, universe, side: side, format: .jpeg, title: title, number: number)
    }

    private static let placeholders = [
        "limit_unviewable_s.png": 100, "limit_unviewable_360.png": 360, "limit_unknown_360.png": 360,
        "limit_unknown_s.png": 100, "limit_sanity_level_360.png": 360, "limit_mypixiv_360.png": 360,
    ]
    private static let bytes = 6_000...60_000

    private static func picture(
        _ path: String, _ universe: Universe, side: Int, format: PictureFormat, title: String, number: Int64
    ) -> Picture {
        var chance = Chance(universe.seed, text: path)
        return Picture(
            path: path, pixels: PixelSize(width: side, height: side), format: format,
            bytes: format == .png ? bytes.upperBound : bytes.lowerBound + side * 20,
            modified: JapanTime(Universe.firstDay, secondOfDay: 0),
            subject: PictureSubject(
                scene: chance.next(), title: title, author: "", place: "", rank: nil, page: 0, pageCount: 1))
    }
}
