import Rankings

extension AnimationRecord {
    /// An animation as lines: the archive's reference, then name and delay of each frame.
    var storedText: String {
        archive + "\n" + frames.map { "\($0.file) \($0.delay)\n" }.joined()
    }

    /// Reads the lines back; nil for what makes no animation.
    init?(stored text: String) {
        var lines = text.split(separator: "\n")[...]
        guard let archive = lines.popFirst() else { return nil }
        var frames: [Frame] = []
        for line in lines {
            // A frame less would be another animation. Names may hold blanks.
            guard let blank = line.lastIndex(of: " "), blank > line.startIndex,
                let delay = Int(line[line.index(after: blank)...])
            else { return nil }
            frames.append(Frame(file: String(line[..<blank]), delay: delay))
        }
        guard !frames.isEmpty else { return nil }
        self.init(archive: String(archive), frames: frames)
    }
}
