// Looks at a page in frames of several widths, on a light and on a dark screen. The result is a list of lines: the frame, and
// what is wrong there.
'use strict';

const SLACK = 1;
const LEAST_FONT = 10;
const LEAST_CONTRAST = 4.5;
const SCHEMES = ['light', 'dark'];

const lines = [];

function channels(colour) {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return { rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1 };
}

function luminance(colour) {
    const [r, g, b] = channels(colour).rgb.map(each => {
        const share = each / 255;
        return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}

function name(element) {
    const text = element.textContent.trim().replace(/\s+/g, ' ').slice(0, 60);
    return element.localName + (text ? " '" + text + "'" : '');
}

function meet(a, b) {
    return Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > SLACK;
}

function isWithin(a, b) {
    return a.left >= b.left - SLACK && a.right <= b.right + SLACK && a.top >= b.top - SLACK && a.bottom <= b.bottom + SLACK;
}

function contains(box, x, y) {
    return box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
}

function placed(elements) {
    return Array.from(elements, element => ({ element, box: element.getBoundingClientRect() }));
}

// Points of a curve, so close that no text fits between two.
function pointsOf(path) {
    const points = [];
    for (let at = 0; at <= path.getTotalLength(); at += 5) {
        points.push(path.getPointAtLength(at).matrixTransform(path.getScreenCTM()));
    }
    return points;
}

function checkDrawing(window, svg, say) {
    const frame = svg.getBoundingClientRect();
    const texts = placed(svg.querySelectorAll('text'));
    const boxes = placed(svg.querySelectorAll('rect'));
    const lines = placed(svg.querySelectorAll('line:not(.stroke-grid), path:not([fill=none])'));
    const curves = Array.from(svg.querySelectorAll('path[fill=none]'), pointsOf);
    if (texts.length === 0) {
        say('empty', name(svg));
    }
    texts.forEach((text, i) => {
        const style = window.getComputedStyle(text.element);
        if (!isWithin(text.box, frame)) {
            say('cut off', name(text.element));
        }
        for (const other of texts.slice(i + 1)) {
            if (meet(text.box, other.box)) {
                say('overlap', name(text.element) + ' and ' + name(other.element));
            }
        }
        for (const box of boxes) {
            if (meet(text.box, box.box) && !isWithin(text.box, box.box)) {
                say('across a border', name(text.element));
            }
        }
        for (const line of lines) {
            if (meet(text.box, { left: line.box.left - SLACK, right: line.box.right + SLACK,
                top: line.box.top - SLACK, bottom: line.box.bottom + SLACK })) {
                say('crossed', name(text.element));
            }
        }
        if (curves.some(points => points.some(point => contains(text.box, point.x, point.y)))) {
            say('crossed', name(text.element));
        }
        const size = parseFloat(style.fontSize) * text.element.getScreenCTM().a;
        const upwards = parseFloat(style.fontSize) * Math.abs(text.element.getScreenCTM().b);
        if (Math.max(size, upwards) < LEAST_FONT) {
            say('small', name(text.element) + ' of ' + size.toFixed(1) + ' pixels');
        }
        const x = (text.box.left + text.box.right) / 2;
        const y = (text.box.top + text.box.bottom) / 2;
        const under = boxes.filter(box => contains(box.box, x, y)).pop();
        const background = under ? window.getComputedStyle(under.element).fill : 'rgb(255, 255, 255)';
        const ratio = contrast(style.fill, background);
        if (ratio < LEAST_CONTRAST) {
            say('contrast', name(text.element) + ' of ' + ratio.toFixed(2));
        }
    });
}

// A drawing that has to be scrolled says so, and no other one.
function checkHints(window, document, say) {
    for (const frame of document.querySelectorAll('.scrolled.drawn')) {
        const hint = frame.parentElement.querySelector('.hint');
        const isShown = hint !== null && window.getComputedStyle(hint).display !== 'none';
        if (isShown !== frame.scrollWidth > frame.clientWidth) {
            say('hint', (isShown ? 'needless: ' : 'missing: ') + frame.parentElement.textContent.trim().slice(0, 60)
                + ' of ' + frame.scrollWidth + ' pixels in ' + frame.clientWidth);
        }
    }
}

function background(window, element) {
    for (let each = element; each; each = each.parentElement) {
        const colour = window.getComputedStyle(each).backgroundColor;
        if (channels(colour).alpha === 1) {
            return colour;
        }
    }
    return 'rgb(255, 255, 255)';
}

function scrolls(window, element) {
    for (let each = element; each; each = each.parentElement) {
        if (['auto', 'scroll'].includes(window.getComputedStyle(each).overflowX)) {
            return true;
        }
    }
    return false;
}

function checkText(window, document, width, say) {
    const blocks = placed(document.querySelectorAll('h1, h2, h3, p, li, pre, figure, table, nav, summary'));
    for (const { element, box } of blocks) {
        const style = window.getComputedStyle(element);
        if (['hidden', 'clip'].includes(style.overflowX) || style.textOverflow === 'ellipsis') {
            say('cut off', name(element));
        }
        if ((box.right > width + SLACK || box.left < -SLACK) && !scrolls(window, element)) {
            say('cut off', name(element));
        }
    }
    blocks.forEach((block, i) => {
        for (const other of blocks.slice(i + 1)) {
            if (other.box.top > block.box.bottom) {
                break;
            }
            if (!block.element.contains(other.element) && meet(block.box, other.box)) {
                say('overlap', name(block.element) + ' and ' + name(other.element));
            }
        }
    });
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || element.closest('svg')) {
            continue;
        }
        const style = window.getComputedStyle(element);
        if (parseFloat(style.fontSize) < LEAST_FONT) {
            say('small', name(element) + ' of ' + style.fontSize);
        }
        const ratio = contrast(style.color, background(window, element));
        if (ratio < LEAST_CONTRAST) {
            say('contrast', name(element) + ' of ' + ratio.toFixed(2));
        }
    }
}

function check(frame, title, width, scheme) {
    const window = frame.contentWindow;
    const document = frame.contentDocument;
    const say = (kind, what) => lines.push(title + ' ' + width + ' ' + scheme + ': ' + kind + ': ' + what);
    if (window.matchMedia('(prefers-color-scheme: dark)').matches !== (scheme === 'dark')) {
        say('scheme', 'the screen is not ' + scheme);
    }
    if (document.documentElement.scrollWidth > width) {
        say('too wide', 'the page has ' + document.documentElement.scrollWidth + ' pixels');
    }
    for (const each of document.querySelectorAll('script, link, iframe, object, embed, image, use, [src], [srcset]')) {
        say('loads', each.outerHTML.slice(0, 100));
    }
    for (const each of document.querySelectorAll('style, [style]')) {
        const style = each.localName === 'style' ? each.textContent : each.getAttribute('style');
        if (/url\(|@import/.test(style)) {
            say('loads', style.match(/.*(url\(|@import).*/)[0].slice(0, 100));
        }
    }
    for (const each of window.performance.getEntriesByType('resource')) {
        say('loads', each.name);
    }
    checkText(window, document, width, say);
    checkHints(window, document, say);
    const drawings = document.querySelectorAll('svg');
    drawings.forEach(svg => checkDrawing(window, svg, say));
    const texts = document.querySelectorAll('svg text').length;
    lines.push(title + ' ' + width + ' ' + scheme + ': seen: ' + drawings.length + ' drawings, ' + texts + ' texts');
}

async function checkAll(pages, widths) {
    for (const [title, html] of Object.entries(pages)) {
        for (const width of widths) {
            for (const scheme of SCHEMES) {
                const frame = document.createElement('iframe');
                // A page in a frame takes the scheme of the frame.
                frame.style.cssText = 'border: 0; height: 900px; width: ' + width + 'px; color-scheme: ' + scheme;
                const loaded = new Promise(resolve => frame.onload = resolve);
                frame.srcdoc = html;
                document.body.append(frame);
                await loaded;
                check(frame, title, width, scheme);
                frame.remove();
            }
        }
    }
}

addEventListener('load', async () => {
    try {
        await checkAll(PAGES, WIDTHS);
        lines.push('end');
    } catch (e) {
        lines.push('failed: ' + e.stack);
    }
    const result = document.createElement('pre');
    result.id = 'result';
    result.textContent = lines.join('\n');
    document.body.replaceChildren(result);
});
