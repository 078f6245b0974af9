package org.rdmapanama.samples.figures;

import java.util.ArrayList;
import java.util.List;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** What tests look for in the document of a drawing. */
public final class Drawing {
    private Drawing() {}

    /** Returns the elements with a name, in their order. */
    public static List<Element> elements(Document document, String name) {
        NodeList nodes = document.getElementsByTagName(name);
        List<Element> elements = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            elements.add((Element) nodes.item(i));
        }
        return elements;
    }

    /** Returns the texts that are drawn, in their order. */
    public static List<String> texts(Document document) {
        return elements(document, "text").stream().map(Element::getTextContent).toList();
    }
}
