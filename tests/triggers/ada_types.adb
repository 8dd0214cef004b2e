--  Types of Ada: numbers with a range, arrays that begin at 1, records with discriminants.
with Ada.Text_IO; use Ada.Text_IO;
procedure Ada_Types is
   type Percent is range 0 .. 100;
   type Offset is range -5 .. 5;
   type Color is (Red, Green, Blue);
   subtype Warm is Color range Red .. Green;
   type List is array (1 .. 4) of Integer;
   type Item (Length : Integer) is record
      Id : Integer; Share : Percent; Name : String (1 .. Length);
   end record;
   package Shop is
      procedure Look (Numbers : List; One : Item; Share : Percent; Low : Offset; Hue : Warm);
   end Shop;
   package body Shop is
      procedure Look (Numbers : List; One : Item; Share : Percent; Low : Offset; Hue : Warm) is
      begin
         Put_Line (Integer'Image (Numbers (2)) & One.Name & Percent'Image (Share) & Offset'Image (Low) & Color'Image (Hue));
      end Look;
   end Shop;
   One : constant Item (3) := (3, 9, 50, "tea");
begin
   Shop.Look ((11, 12, 13, 14), One, 77, -4, Green);
end Ada_Types;
