import HTTP
import Posix
import Rankings
import Sourcing

/// The folder of `rankfs doctor --service --record`: one document for each answer of the service, to be sent with a report.
struct RecordFolder {
    typealias Answer = (request: HTTPRequest, result: Result<HTTPResponse, HTTPError>)

    private let path: String

    /// Makes the folder, private to its user.
    ///
    /// - Throws: One sentence if it cannot be made, or has something in it already.
    init(_ path: String) throws(ProgramError) {
        self.path = path
        let isEmpty: Bool
        do throws(LocalFiles.Failure) {
            try LocalFiles.makeDirectories(path)
            isEmpty = try LocalFiles.isEmptyDirectory(path)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "\(LogText.escaped(path)) cannot be used for --record: \(error.text); name another folder.")
        }
        guard isEmpty else {
            throw ProgramError(.usage, "\(LogText.escaped(path)) is not empty: name another folder for --record.")
        }
    }

    /// Writes what came, numbered in the order in which it was asked.
    func write(_ answers: [Answer], _ recording: AnswerRecording, source: String) throws(ProgramError) {
        var recording = recording
        for (index, answer) in answers.enumerated() {
            let document = recording.document(of: answer.request, answer.result).document
            let name = "\(path)/\(source)-\(index < 9 ? "0" : "")\(index + 1).json"
            do throws(LocalFiles.Failure) { try LocalFiles.replace(name, with: Array(document.utf8)) } catch {
                throw ProgramError(.cannotCreate, "\(LogText.escaped(name)) cannot be written: \(error.text).")
            }
        }
    }

    /// What people are told at the end.
    var sentence: String {
        "the answers are in \(LogText.escaped(path)), with names, texts, addresses and pictures taken out: look at them, then send them."
    }
}
