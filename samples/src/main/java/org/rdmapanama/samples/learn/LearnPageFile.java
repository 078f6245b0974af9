package org.rdmapanama.samples.learn;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.FormatStyle;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.Failure;

/** Runs all lessons, and writes them into a file as a page. The file is there once it is whole. */
final class LearnPageFile {
    private LearnPageFile() {}

    /**
     * Writes the file, which is created or replaced.
     *
     * @param progress receives a line for each lesson
     * @throws Failure if the file cannot be written, or the lessons cannot all run on soft0 here
     */
    static void write(Path file, PrintWriter progress) throws Exception {
        write(file, () -> page(progress));
    }

    /** The same with a page that is made some other way. */
    static void write(Path file, Callable<String> page) throws Exception {
        Path folder = file.toAbsolutePath().getParent();
        if (Files.isDirectory(file)) {
            throw new Failure("cannot write the page to " + file + ": it is a directory");
        }
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new Failure("cannot write the page to " + file + ": it is not a regular file");
        }
        if (folder == null || !Files.isDirectory(folder)) {
            throw new Failure("cannot write the page to " + file + ": there is no directory " + folder);
        }
        // Beside the file, so that it can take its place at once.
        Path part = folder.resolve(
                "." + file.getFileName() + "." + ProcessHandle.current().pid() + ".part");
        try {
            Files.createFile(part);
        } catch (IOException e) {
            throw failure(file, e);
        }
        try {
            String text = page.call();
            try {
                Files.writeString(part, text);
                Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw failure(file, e);
            }
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private static Failure failure(Path file, IOException reason) {
        String text = reason instanceof AccessDeniedException ? "permission denied" : reason.toString();
        if (reason instanceof FileSystemException refused && refused.getReason() != null) {
            text = refused.getReason();
        }
        return new Failure("cannot write the page to " + file + ": " + text, reason);
    }

    private static String page(PrintWriter progress) throws Exception {
        WholeTransfer.checkDevice();
        List<LessonOutput> outputs = new ArrayList<>();
        for (Lesson lesson : Lesson.values()) {
            progress.println("running lesson " + lesson.number() + " of " + (Lesson.values().length - 1) + ": "
                    + lesson.title());
            progress.flush();
            outputs.add(LessonOutput.of(lesson, lesson == LearnDocument.WITH_HEADERS));
        }
        String time = DateTimeFormatter.ofLocalizedDateTime(FormatStyle.LONG, FormatStyle.SHORT)
                .withLocale(Locale.UK)
                .format(ZonedDateTime.now());
        return LearnPage.of(outputs, "The outputs and the pictures on this page are those of a run of " + time + ".");
    }
}
