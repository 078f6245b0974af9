package org.rdmapanama.samples.learn;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The text of docs/LEARN.md. What lessons print and draw, and their code, are between marks, and are filled in. */
final class LearnDocument {
    /** The folder of the pictures, beside the document. */
    static final String PICTURES = "pictures";

    /** The lesson whose headers are in the document. */
    static final Lesson WITH_HEADERS = Lesson.WRITE;

    private static final Pattern PART =
            Pattern.compile("(<!-- (code|output|headers) (\\w+(?: \\w+)*) -->\n)(.*?)(<!-- end -->\n)", Pattern.DOTALL);

    private LearnDocument() {}

    /** Says what belongs between marks. */
    @FunctionalInterface
    interface Parts {
        /**
         * Returns the text of a part.
         *
         * @param kind code, output or headers
         * @param name what the mark names
         * @param now what is there now
         */
        String part(String kind, String name, String now) throws Exception;
    }

    /** Returns a document with other text between its marks. */
    static String fill(String document, Parts parts) throws Exception {
        StringBuilder filled = new StringBuilder();
        Matcher part = PART.matcher(document);
        while (part.find()) {
            String text = parts.part(part.group(2), part.group(3), part.group(4));
            part.appendReplacement(filled, Matcher.quoteReplacement(part.group(1) + text + part.group(5)));
        }
        return part.appendTail(filled).toString();
    }

    /**
     * Returns one of the parts about headers that a lesson has shown.
     *
     * @param shown what the lesson printed
     * @param name what the heading of the part says before its comma, such as an operation
     */
    static String headers(String shown, String name) {
        int from = shown.indexOf("\n" + name + ",") + 1;
        if (from == 0) {
            throw new IllegalStateException("no headers " + name + " in\n" + shown);
        }
        int end = shown.indexOf("\n\n", from);
        return shown.substring(from, end < 0 ? shown.length() : end + 1);
    }
}
