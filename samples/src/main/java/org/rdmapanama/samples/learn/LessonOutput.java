package org.rdmapanama.samples.learn;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/**
 * What a run of a lesson has printed and drawn.
 *
 * @param lesson the lesson
 * @param text what it printed
 * @param pictures what it drew
 */
record LessonOutput(Lesson lesson, String text, List<Picture> pictures) {
    /** Runs a lesson on soft0, which shows the headers of its packets if these are wanted. */
    static LessonOutput of(Lesson lesson, boolean headers) throws Exception {
        StringWriter text = new StringWriter();
        try (PrintWriter out = new PrintWriter(text)) {
            List<Picture> pictures = lesson.run(out, headers);
            return new LessonOutput(lesson, text.toString().replace("\r\n", "\n"), pictures);
        }
    }

    /** Returns the same, but the text ends before the packets if there is a picture of them. */
    LessonOutput withoutPacketsAsText() {
        int end = text.indexOf("\n" + Lesson.PACKETS + "\n");
        boolean drawn = pictures.stream().anyMatch(each -> each.name().equals(Lesson.PACKETS_PICTURE));
        return drawn && end >= 0 ? new LessonOutput(lesson, text.substring(0, end), pictures) : this;
    }

    /** Returns the name of the file of a picture. */
    String file(Picture picture) {
        return "lesson-" + lesson.number() + "-" + picture.name() + ".svg";
    }

    /** Returns a part of docs/LEARN.md: what was printed, and the pictures. */
    String markdown() {
        StringBuilder markdown = new StringBuilder("```text\n$ bin/rdma learn ")
                .append(lesson.number())
                .append('\n')
                .append(text)
                .append("```\n");
        for (Picture picture : pictures) {
            markdown.append("\n![Lesson ")
                    .append(lesson.number())
                    .append(": ")
                    .append(picture.caption())
                    .append("](" + LearnDocument.PICTURES + "/")
                    .append(file(picture))
                    .append(")\n");
        }
        return markdown.toString();
    }
}
