package import Rankings
package import Sourcing

/// The checks of `rankfs doctor --service` that only the posts of a board allow.
extension BooruSource: ExaminableSource {
    package func judge(ranking answer: JSON, day: Day?) -> [Assumption] {
        let fields = engine.fields(of: answer)
        guard let day, let entries = try? engine.entries(in: answer, hosts: hosts) else { return fields }
        let posts = entries.compactMap(\.post)
        let calendar = description.calendar
        let moments = calendar.begins(day)..<calendar.begins(day.advanced(by: 1))
        let usable = posts.count { $0.files != nil }
        let unproven = posts.count { $0.withheld == Withholding.unproven }
        let strange = posts.count { $0.withheld == Withholding.elsewhere }
        let hidden = posts.count { $0.withheld != nil } - unproven - strange
        let fitting = posts.count { post in post.rating.map { $0 <= rating } == true }
        let inside = posts.count { post in post.created.map { moments.contains($0) } == true }
        let scores = posts.compactMap(\.score)
        let isFalling = zip(scores, scores.dropFirst()).allSatisfy { $0 >= $1 }
        return fields + [
            Assumption(
                "length of a page", holds: entries.count <= engine.postsPerPage,
                "\(entries.count) entries, \(engine.postsPerPage) at most were asked for"),
            Assumption(
                "size and MD5 of originals", holds: unproven == 0 && usable > 0,
                "told of \(usable) of \(usable + unproven)"),
            Assumption(
                "hosts of originals", holds: strange == 0,
                "\(posts.count - strange - hidden) on known ones, \(strange) elsewhere, \(hidden) without an address"),
            Assumption(
                "rating of what was asked for", holds: fitting == posts.count,
                "\(fitting) of \(posts.count) are \(engine.scale.steps[rating].word) as asked for"),
            Assumption(
                "day of the posts", holds: inside == posts.count,
                "\(inside) of \(posts.count) were made on the day asked for"),
            Assumption(
                "order by score", holds: isFalling && scores.count == posts.count,
                scores.count < posts.count
                    ? "\(posts.count - scores.count) posts tell no score"
                    : isFalling ? "the best are first" : "worse posts come before better ones"),
        ]
    }
}
